"""What the management API answers: what there is as JSON, the shape of each answer, and pages of lists."""
