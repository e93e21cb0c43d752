"""The pages of docs/ that are made of data, and the site that is made of all pages."""
