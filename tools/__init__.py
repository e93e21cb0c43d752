"""Tools for maintainers, who have a checkout: campaigns that measure the suite (trust, mutation, personalities,
repeats, matrix), generated pages, releases. They are not in the wheel, and only tests import them."""
