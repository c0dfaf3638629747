//! Where something stands on a page.

/// A map of the plane: `[a b c d e f]`, as PDF writes it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Matrix(pub(super) [f64; 6]);

impl Matrix {
    pub(super) const SAME: Self = Self([1.0, 0.0, 0.0, 1.0, 0.0, 0.0]);

    pub(super) fn moved(x: f64, y: f64) -> Self {
        Self([1.0, 0.0, 0.0, 1.0, x, y])
    }

    /// First this, then the other.
    pub(super) fn then(self, other: Self) -> Self {
        let ([a, b, c, d, e, f], [p, q, r, s, t, u]) = (self.0, other.0);
        Self([a * p + b * r, a * q + b * s, c * p + d * r, c * q + d * s, e * p + f * r + t, e * q + f * s + u])
    }

    /// Where the origin comes to lie.
    pub(super) fn origin(self) -> (f64, f64) {
        (self.0[4], self.0[5])
    }

    /// Where a step to the right leads, as a direction of length 1; and how long it is.
    pub(super) fn right(self) -> ((f64, f64), f64) {
        let (x, y) = (self.0[0], self.0[1]);
        let length = x.hypot(y);
        if length > 0.0 && length.is_finite() { ((x / length, y / length), length) } else { ((1.0, 0.0), 0.0) }
    }

    /// How high a thing of height 1 becomes.
    pub(super) fn height(self) -> f64 {
        self.0[2].hypot(self.0[3])
    }
}
