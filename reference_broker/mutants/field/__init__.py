"""What users have reported, and release notes admit: more of it than the folders of the areas have room for."""
