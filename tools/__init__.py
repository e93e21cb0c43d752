"""What maintainers use on a checkout: campaigns on the suite itself (trust, mutation, personalities, repeats, matrix),
pages that are made of data, releases. Not in the wheel; only tests know it."""
