"""Histories told line by line, and what the judge makes of them."""

from tests.support.playbook.book import Playbook

__all__ = ["Playbook"]
