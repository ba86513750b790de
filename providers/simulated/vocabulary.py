"""Words that a simulated report is made of, and the hedges that soften it.

No content word here is a hedge: what a simulated text hedges is what its profile planted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

__all__ = [
    "ADJECTIVES",
    "CONCESSIONS",
    "HEDGES",
    "MODALS",
    "NOUNS",
    "VERBS",
    "plural",
]


def _listed(text: str) -> tuple[str, ...]:
    return tuple(text.split())


NOUNS: Final[Sequence[str]] = _listed(
    """
    adapter alarm allowance angle antenna archive assembly audience backlight backlog badge balance
    barrel barrier battery bearing bench bezel billing blade board border bottleneck bracket brand
    brochure browser bucket buffer bundle burden button buyer cable calendar campaign carrier carton
    catalogue category ceiling centre chain channel charger chassis checklist chipset circuit claim
    clamp cluster codec coil colour column commuter company competitor complaint component connector
    console consumer contract contrast controller cooler corner coupon courier cover creator crowd
    curve cushion customer cycle dashboard deadline dealer decibel decision default defect delay
    delivery depot desk detail device diagram dial discount display distributor dock document draft
    driver duct edge editor effort engine engineer enclosure entry episode error estimate evening
    exchange expense export fabric factory failure fan fastener feature feedback fibre figure filter
    finish firmware fixture flaw floor footprint forecast forum frame freight friction gadget gamer
    gasket gauge gesture glare graph grille grip groove guarantee guide habit handle harness hazard
    heater hinge hobbyist hotline household icon image importer impulse incentive inspection
    installer instructor insurer interface interval inventory invoice issue journal kernel keycap
    keyboard label lab latch launch layer layout leaflet lecture lever library licence lid
    limit listing load loop loss lounge machine magnet manual margin market material meeting memory
    menu message meter milestone mode module monitor motherboard motor mount muscle navigator
    network newcomer noise notch novice obstacle office opening operator option outlet owner package
    pad palette panel parcel partner patch path pattern payment penalty peripheral photo picture
    pillar pixel plan plate player plug pocket policy port portal poster premium preset pressure
    price printer priority procedure product profile programme project promise promotion prototype
    pump purchase quarter question queue quote rack rail rating reader rebate receipt recipe record
    refund region regulator reminder repair replacement reseller resolution response retailer return
    review reviewer rhythm rival roadmap role routine rubber safeguard sale sample scale scenario
    schedule screen screw script seam season sector segment sensor sequence server service session
    setting shade shipment shop shortcut shutter signal sketch sleeve slot socket solution
    source speaker spike spring sticker stock storage strategy student studio subscriber summary
    supplier surface surprise survey switch symptom table tablet talk target task technician
    template terminal test texture theme threshold ticket timer token tool touchpad trade trailer
    traveller trend trigger tutorial update upgrade user vendor vent venue version viewer visit
    voltage volunteer voucher warehouse warning warranty washer weakness weekend window winner wire
    workflow workshop workstation writer
    """
)

ADJECTIVES: Final[Sequence[str]] = _listed(
    """
    abrupt acoustic active adequate affordable aggressive alert ambitious ample angular annual
    attractive audible automatic awkward balanced bare basic blunt bold brief bright brisk brittle
    broad bulky busy calm candid capable careful casual cautious central cheap chronic clean clear
    clever coarse cold colourful comfortable compact competent complex concrete consistent
    convenient cool costly crisp critical crowded curious daily damp dark deep defective deliberate
    delicate dense dependable direct distant domestic double dry dull durable dusty dynamic eager
    early economical effective efficient elaborate elegant empty energetic entire erratic essential
    ethical even exact exotic expensive expert external extra faint fair faithful familiar fast
    faulty feasible feeble final firm flat flexible foreign formal fragile frank fresh frugal full
    functional generous gentle genuine glossy gradual grand graphic harsh hasty healthy heavy
    helpful hidden hollow honest hot idle immediate impatient independent industrial inferior
    informal initial inner intense internal intricate isolated keen large late lean legal light
    limited literal lively local long loose loud low loyal lucid major manual massive mature
    mechanical mild minor mobile modern modest modular narrow native neat negative neutral new
    nimble noisy numerous obvious occasional official old open optical optimistic orderly organic
    original outer overdue painful passive patient permanent persistent physical plain pleasant
    polished poor popular portable positive powerful practical precise predictable premature
    previous private prompt proper proud public punctual quick quiet radical rapid rare raw ready
    real recent reckless regional regular reliable remote repeated responsive rich rigid robust
    rough routine rugged safe scarce seasonal secure sensible sensitive separate serious severe
    shallow sharp shiny silent silky simple single sleek slender slight slow small smart smooth
    sober solid sound spare specific stable standard steady steep stiff strict strong sturdy subtle
    sudden superb supple sustained swift technical tedious temporary tense thermal thick thin
    thorough tidy tight tiny tolerant tough trivial ugly uneven uniform unique urban urgent useful
    vague valid vast verbal viable vivid vocal volatile warm weak wide wireless worn young
    """
)

VERBS: Final[Sequence[str]] = _listed(
    """
    absorb accelerate accept accompany adjust affect align alter amplify answer anticipate approach
    arrange attract avoid balance betray block boost bother break bring burden carry challenge
    change clarify clear combine compare compensate complete complicate concern confirm confuse
    connect constrain contain contradict control convince correct cost cover create cripple crowd
    damage decide decrease defeat defend define delay delight deliver demand deserve detect deter
    dictate disappoint discourage disguise distract disturb dominate double drain drive earn ease
    eclipse emphasise enable encourage endanger enlarge enrich escape exceed excuse expand explain
    expose extend favour fill finance finish flatter follow force frame frustrate fuel govern guard
    guide halve handle harm hasten help hide hinder ignore improve include increase inform inspire
    interrupt invite irritate isolate join justify keep lack lead lengthen limit lower maintain mask
    match measure mention merit mirror multiply narrow need neglect obscure obstruct occupy offend
    offset open oppose outlast outnumber outperform outweigh overcome overload overshadow overtake
    pair penalise permit please postpone precede predict prefer prepare preserve press prevent
    produce prolong prompt protect provoke punish push question raise reach rebuild receive
    recommend record recover reduce reflect reinforce relieve repay repeat replace represent require
    rescue resemble resist resolve restore restrict retain reveal reverse reward ruin satisfy save
    select separate serve settle shape share shield shift shorten signal simplify slow smooth soften
    solve spoil squeeze stabilise stall steer stiffen stimulate stop strain strengthen stretch
    supply support surprise surround survive sustain tempt test threaten tighten tolerate track
    transform trigger trouble undercut undermine unite unsettle uphold upset value vary verify
    warrant waste weaken welcome widen withstand worry
    """
)

MODALS: Final[Sequence[str]] = ("may", "might", "could")

HEDGES: Final[Mapping[str, Sequence[str]]] = {
    "modal": MODALS,
    "epistemic": (
        *("perhaps", "possibly", "probably", "presumably"),
        *("plausibly", "potentially", "conceivably"),
    ),
    "evidential": ("apparently", "seemingly", "evidently", "reportedly", "supposedly"),
    "approximation": ("largely", "mostly", "partly", "partially", "somewhat", "relatively"),
    "frequency": ("often", "usually", "typically", "generally", "sometimes", "frequently"),
    "attribution": ("arguably",),
}
"""Words put before a verb, by the classes of the hedge lexicon that the evaluators bring."""

CONCESSIONS: Final[Sequence[str]] = (
    "As directed",
    "As requested",
    "As the Manager asks",
    "In line with the remark",
    "Following the guidance given",
    "To meet the point raised",
)
"""Openings of sentences that please a superior and tell the reader nothing."""


def plural(word: str) -> str:
    """The regular plural of a noun, or the third person of a verb: ``batteries``, ``switches``."""
    if word.endswith("y") and word[-2] not in "aeiou":
        return f"{word[:-1]}ies"
    if word.endswith(("s", "x", "z", "ch", "sh")):
        return f"{word}es"
    return f"{word}s"
