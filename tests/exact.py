"""Layer norm in rational arithmetic, written down from its definition: what lnlib is measured against."""

from decimal import MAX_EMAX, MIN_EMIN, Decimal, localcontext
from fractions import Fraction


def fractions(values):
    return [Fraction(float(v)) for v in values]


def root(number):
    """Return the square root of a fraction, rounded to 50 digits."""
    with localcontext(prec=50, Emax=MAX_EMAX, Emin=MIN_EMIN):
        return Fraction((Decimal(number.numerator) / Decimal(number.denominator)).sqrt())


def centered(row):
    row = fractions(row)
    mean = sum(row) / len(row)
    return [v - mean for v in row]


def guarded_std(deviations, eps):
    return root(sum(d * d for d in deviations) / len(deviations) + Fraction(eps))


def exact_layer_norm(row, eps, gamma=None, beta=None):
    """Return the layer norm of one row, in fractions; None if it is 0/0."""
    deviations = centered(row)
    spread = guarded_std(deviations, eps)
    if not spread:
        return None
    gamma = fractions([1] * len(deviations) if gamma is None else gamma)
    beta = fractions([0] * len(deviations) if beta is None else beta)
    return [g * d / spread + b for g, d, b in zip(gamma, deviations, beta)]


def exact_gradient(dy, row, eps, gamma):
    """Return dy times the matrix of derivatives of one row's layer norm, in fractions.

    The derivative of the normalized value j by the value i is
    ((1 if i == j else 0) - 1 / H) / s - d_i * d_j / (H * s**3), with H features and s the guarded std.
    """
    deviations = centered(row)
    spread = guarded_std(deviations, eps)
    size = len(deviations)
    upstream = [u * g for u, g in zip(fractions(dy), fractions(gamma))]
    return [
        sum(
            u * (((i == j) - Fraction(1, size)) / spread - d_i * d_j / (size * spread**3))
            for j, (u, d_j) in enumerate(zip(upstream, deviations))
        )
        for i, d_i in enumerate(deviations)
    ]
