"""Makes output from recordings and results: the pipeline, the HTML page, exports. It never talks to a broker."""
