"""The REML likelihood of a mixed model at the price of its few different designs.

statsmodels walks over every unit at each step of the optimiser. Units whose rows are alike (the same
predictors, judges and arms) need the same matrices, so they are done once, with sums over the units.
"""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from statsmodels.regression.mixed_linear_model import MixedLM, MixedLMParams

from orglab.results.statistics.data.cells import Floats

Packed: TypeAlias = Any
Fitted: TypeAlias = Any

#: A part of the residual variance that is as good as 0. statsmodels divides by variances, and takes
#: those below 1e-10 for infinite ones.
_LEAST = 1e-8


class _Pattern(NamedTuple):
    """Units of one design ``x``, ``z``: how many, products of the design, sums over the units."""

    units: int
    owners: Floats
    xx: Floats
    zz: Floats
    zx: Floats
    xr: Floats
    zr: Floats
    rr: float
    zrrz: Floats


class AlikeMixedLM(MixedLM):  # type: ignore[misc]  # statsmodels has no types
    """``MixedLM`` with variance components alone; its fits are the same."""

    def get_fe_params(self, cov_re: Floats, vcomp: Floats, tol: float = 1e-10) -> Fitted:
        """Return the fixed effects at given variances; see ``MixedLM.get_fe_params``."""
        return super().get_fe_params(cov_re, np.maximum(vcomp, _LEAST), tol)

    def hessian(self, params: Packed) -> Fitted:
        """Return the second derivatives; see ``MixedLM.hessian``."""
        if isinstance(params, MixedLMParams):
            params = params.copy()
            params.vcomp = np.maximum(params.vcomp, _LEAST)
        return super().hessian(params)

    def loglike(self, params: Packed, profile_fe: bool = True) -> float:
        """Return the profile log-likelihood (REML or ML); see ``MixedLM.loglike``."""
        if not profile_fe or self.k_re or self.fe_pen is not None:
            return float(super().loglike(params, profile_fe))
        if not isinstance(params, MixedLMParams):
            params = MixedLMParams.from_packed(
                params, self.k_fe, self.k_re, self.use_sqrt, has_fe=False
            )
        return self._profiled(np.asarray(params.vcomp, dtype=np.float64))

    def _profiled(self, variances: Floats) -> float:
        logdet, rvr = 0.0, 0.0
        xvx, xvr = np.zeros((self.k_fe, self.k_fe)), np.zeros(self.k_fe)
        for each in self._designs():
            deviations = np.sqrt(variances[each.owners])
            # V = I + Z D Z' is never built: its inverse and determinant come from this small matrix.
            inner = np.eye(len(deviations)) + deviations[:, None] * each.zz * deviations
            factor = cho_factor(inner)
            zx, zr = deviations[:, None] * each.zx, deviations * each.zr
            logdet += each.units * 2.0 * float(np.log(np.diag(factor[0])).sum())
            solved = cho_solve(factor, zx)
            xvx += each.units * (each.xx - zx.T @ solved)
            xvr += each.xr - solved.T @ zr
            outer = deviations[:, None] * each.zrrz * deviations
            rvr += each.rr - float(np.trace(cho_solve(factor, outer)))
        return self._likelihood(logdet, xvx, rvr - float(xvr @ np.linalg.pinv(xvx) @ xvr))

    def _likelihood(self, logdet: float, xvx: Floats, squares: float) -> float:
        free = self.n_totobs - (self.k_fe if self.reml else 0)
        found = -logdet / 2 - free * (np.log(2 * np.pi * squares / free) + 1) / 2
        return float(found - np.linalg.slogdet(xvx)[1] / 2 if self.reml else found)

    def _designs(self) -> list[_Pattern]:
        """Return the different designs of the groups, found once."""
        if not hasattr(self, "_patterns"):
            # Residuals in place of the outcome: the same likelihood, and no small difference of
            # large sums.
            start = np.linalg.lstsq(self.exog, self.endog, rcond=None)[0]
            rest = self.endog - self.exog @ start
            alike: dict[tuple[object, ...], list[int]] = {}
            for at in range(len(self.group_labels)):
                x, z = self.exog_li[at], self._aex_r[at]
                own = tuple(mats[at].shape[1] for mats in self.exog_vc.mats)
                alike.setdefault((x.tobytes(), z.tobytes(), z.shape, own), []).append(at)
            self._patterns = [self._pattern(groups, rest) for groups in alike.values()]
        return self._patterns

    def _pattern(self, groups: list[int], rest: Floats) -> _Pattern:
        x, z = self.exog_li[groups[0]], self._aex_r[groups[0]]
        widths = [mats[groups[0]].shape[1] for mats in self.exog_vc.mats]
        rows = np.stack([rest[self.row_indices[self.group_labels[at]]] for at in groups])
        zr = rows @ z
        return _Pattern(
            units=len(groups),
            owners=np.repeat(np.arange(len(widths)), widths),
            xx=x.T @ x,
            zz=z.T @ z,
            zx=z.T @ x,
            xr=rows.sum(axis=0) @ x,
            zr=zr.sum(axis=0),
            rr=float((rows * rows).sum()),
            zrrz=zr.T @ zr,
        )
