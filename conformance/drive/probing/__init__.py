"""What a broker offers: asked before anything is judged, and put into the profile by which it is examined."""
