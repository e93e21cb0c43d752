"""Builds what is published, and tries it in fresh environments: wheel, sdist, and the two images of the Dockerfile."""
