"""What is done to a broker beside the exam itself: asking what it offers, seeing that it lives, and limits of time."""
