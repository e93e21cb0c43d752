"""The suite against brokers whose truth is known: wrong ones, lawful ones, and what a finding looks like on them."""
