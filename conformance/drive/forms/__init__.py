"""Other forms in which a scene can say the same. A broker must not tell them apart, or must do as well by them."""
