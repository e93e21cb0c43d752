"""Plays scenes through client libraries, and reports what each library shows its application and what it hides."""
