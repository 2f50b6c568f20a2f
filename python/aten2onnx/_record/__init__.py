"""Records a model while it runs: eagerly, on real values whose sizes remember where they came from.

`numbers` are the numbers that remember, `tensors` the values, `recorder` writes down calls, `places` knows lines and modules of the model, `shadows`
lets Python's own functions (`int`, `len`, `math.ceil`) take such numbers, `keep` keeps composite operators whole, `state` puts the model back as it
was, `steady` runs it again, `loops` notes the turns of loops and `walks` what they walk over, `roll` and `branched` make one turn of all, `gather`
reads lists of them, `runs` chooses other sizes, `same` holds two recordings against each other, and `graph` makes a program of one.
"""
