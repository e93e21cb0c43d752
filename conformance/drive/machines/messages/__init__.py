"""Machines for the family of messages: what becomes of one that may expire, die, be refused, outranked or answered."""
