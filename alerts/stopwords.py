"""Words that stop everything (behaviour, Numbers: stop words). Pure."""

import re
import unicodedata

WORDS = frozenset(
    ["STOP", "STOPALL", "UNSUBSCRIBE", "CANCEL", "END", "QUIT", "REVOKE", "OPTOUT", "ARRET", "PARAR", "BAJA", "STOPP"]
)
_TWO_WORDS = re.compile(r"\bOPT[\s\-]+OUT\b")
# Outer punctuation, the first word, and what follows it.
_GOES_ON = re.compile(r"[-'\u2019]\w")
_FIRST = re.compile(r"[\W_]*(\w+)(.*)", re.DOTALL)


def is_stop(body: str) -> bool:
    """True when the first word is a stop word and nothing, or punctuation, follows it: "Stop. Thank you" is one.

    Without case, accents and outer punctuation. "don't stop" and "stopping by" are not.
    """
    plain = "".join(c for c in unicodedata.normalize("NFKD", body[:200]) if not unicodedata.combining(c)).upper()
    plain = _TWO_WORDS.sub("OPTOUT", plain, count=1)
    found = _FIRST.match(plain)
    if found is None or found[1] not in WORDS:
        return False
    # "stop-gap", "stop's": still the same word.
    if _GOES_ON.match(found[2]):
        return False
    # A space and then a letter: the sentence goes on ("stop it", "end of shift").
    rest = found[2].strip()
    return not rest or not rest[0].isalnum()
