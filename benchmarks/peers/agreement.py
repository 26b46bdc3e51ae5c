"""What the third table compares: methods that both tools have, by the points they reach."""

LOCAL_STEPS = 5
"""Of Local Exact Diffusion, between two exchanges."""

OURS = {
    "ATC": "DSGD",
    "EXTRA": "EXTRA",
    "ED": "ExactDiffusion",
    "ATC_Tracking": "ATCTracking",
    "LED": "ExactDiffusion(correction=1/5) on ring(20).every(5)",
}
"""decent-bench's class → what computes the same here."""
