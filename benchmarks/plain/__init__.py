"""The plain formulation: the same instance and the same laws, written straight and handed to a solver
whole.

No parts, no integer totals, no start, no cuts, no options beyond a gap and a time limit. It is what one
would do first, and is kept so that whatever the product does beyond it can be measured against it, on the
same problem and towards the same optimum.
"""
