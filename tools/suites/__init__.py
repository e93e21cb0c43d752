"""Runs the test suites of client libraries on the reference broker and on RabbitMQ: `make clients-suites`."""
