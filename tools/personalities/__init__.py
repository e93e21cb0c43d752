"""Measures whether brokers that deviate are judged rightly: in many ways at once, and in each way alone."""
