"""What is published: the wheel and the sdist, tried in fresh environments, and the two images of the Dockerfile."""
