"""Problems whose answers have a cost: every valid answer is worth something, and a cheaper one more."""
