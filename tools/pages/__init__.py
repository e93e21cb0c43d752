"""Generates pages of docs/ from data, and builds the site from all pages."""
