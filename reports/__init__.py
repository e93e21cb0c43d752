"""What is made of recordings and results: the pipeline, the page, exports. It never talks to a broker."""
