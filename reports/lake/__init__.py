"""The lake: tables that others read, what is committed to them, and the columns that they have.

Spark writes to it, and so does a single process.
"""
