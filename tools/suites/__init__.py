"""Client libraries' own test suites, played on the reference broker and on RabbitMQ: `make clients-suites`."""
