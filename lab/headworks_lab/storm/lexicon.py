"""A small word list of our own to score lines by: plain words of approval and of trouble, from -5 to 5."""

from __future__ import annotations

from headworks.model import FrozenMap

APPROVAL = (
    "able accept agree benefit best better clean clear complete correct easy effective efficient enjoy "
    "fast fine free fresh friendly good gain glad help helpful improve improved interest kind like love "
    "nice perfect please pleasant powerful protect ready recommend reliable right safe secure simple "
    "smart solve solved special strong success successful support supported thank thanks true trust "
    "useful valid valuable welcome well win wise wonderful worth yes "
)
"""Words worth 1, but for those in `STRONGER`."""
TROUBLE = (
    "abort absent afraid alone angry avoid bad bug careful cancel confuse confusing conflict corrupt "
    "crash cruel danger dangerous dead deny destroy difficult dirty error errors fail failed failure "
    "false fear forbid forbidden garbage hard harm hate hurt illegal incorrect invalid kill lack lose "
    "loss lost mistake miss missing no odd obsolete pain poor prevent problem problems raise raised "
    "reject rejected risk sad shadow slow sorry stop strange terrible trap trouble ugly undefined unsafe "
    "unsupported unwanted useless violate warn warning weak worse worst wrong "
)
"""Words worth -1, but for those in `STRONGER`."""
STRONGER = {
    "bad": -3,
    "best": 3,
    "crash": -2,
    "dangerous": -2,
    "enjoy": 2,
    "fail": -2,
    "failure": -2,
    "good": 3,
    "hate": -3,
    "love": 3,
    "perfect": 3,
    "powerful": 2,
    "success": 2,
    "successful": 3,
    "terrible": -3,
    "thank": 2,
    "thanks": 2,
    "useful": 2,
    "wonderful": 4,
    "worst": -3,
    "wrong": -2,
}

LEXICON = FrozenMap(
    {**dict.fromkeys(APPROVAL.split(), 1), **dict.fromkeys(TROUBLE.split(), -1), **STRONGER},
)
"""Value by word."""
