"""Frames to test with: well made ones, and broken ones with the error that each must bring."""
