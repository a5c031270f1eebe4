"""The returns desk of an invented shop: its rules, its tools, and twelve requests with the state behind them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from judge.types import Tool

BUDGET = 6
DESK = (
    "You are the returns desk of Fernwell Outfitters. You can only arrange returns. For a return: look up the order, "
    "check that it is eligible (delivered, returnable, at most 30 days old), then create the return and give its "
    f"number. A tool may fail for a moment: try it again, but make at most {BUDGET} tool calls for one request. If an "
    "order does not exist, or the calls are used up, end as unavailable and say why. For any other request, say what "
    "you can do and use no tool."
)


def _tool(name: str, description: str, *properties: str) -> Tool:
    return Tool(
        name=name,
        description=description,
        parameters={
            "type": "object",
            "properties": {key: {"type": "string"} for key in properties},
            "required": list(properties),
        },
    )


TOOLS = (
    _tool("lookup_order", "Find an order.", "order_id"),
    _tool("check_eligibility", "Whether an order may be returned, and why not.", "order_id"),
    _tool("create_return", "Create a return; gives its number.", "order_id", "reason"),
)

Ending = Literal["returned", "declined", "missing", "unsupported", "down"]


@dataclass(frozen=True)
class ReturnCase:
    """One request, the state of the shop, and how it should end.

    Attributes:
        order: The record behind `order_id`, or None where there is no such order.
        why_not: Reason of a failed eligibility check, or None where the order may be returned.
        number: Number that the shop gives to the return.
        failing: For a tool, how many of its first calls fail for a moment (99: all of them).
        ending: How the request ends when it is handled well.
        replies: Right final replies.
        invented: A reply with a return number that nothing gave.
    """

    group: str
    split: Literal["dev", "test"]
    message: str
    order_id: str
    ending: Ending
    replies: tuple[str, ...]
    plan: tuple[str, ...]
    reason: str = "unwanted"
    order: dict[str, Any] | None = None
    why_not: str | None = None
    number: str = ""
    failing: dict[str, int] = field(default_factory=dict)
    invented: str = ""


def _order(item: str, price: float, status: str, days: int | None, returnable: bool = True) -> dict[str, Any]:
    return {"item": item, "price_eur": price, "status": status, "days_since_delivery": days, "returnable": returnable}


CASES = (
    ReturnCase(
        "returns-kettle",
        "test",
        "My camping kettle (order FW-2201) arrived with a dent. I would like to send it back.",
        "FW-2201",
        "returned",
        (
            "Sorry about the dent. Your return is set up under number RT-5810; the label is in your inbox.",
            "Done: return RT-5810 for the kettle. Please use the label that we have sent you.",
        ),
        ("handled", "invented_number", "skipped_check", "extra_lookup"),
        "damaged",
        _order("camping kettle 1.2 l", 34.9, "delivered", 6),
        number="RT-5810",
        invented="Your return for the kettle has been created under number RT-4400.",
    ),
    ReturnCase(
        "returns-boots",
        "dev",
        "The trail boots from FW-2218 are a size too small. How do I return them?",
        "FW-2218",
        "returned",
        (
            "I have opened return RT-5822 for your boots. Drop the parcel at any post office with the label we sent.",
            "No problem, the boots can go back. Return number RT-5822, label by e-mail.",
        ),
        ("retried", "gave_up_at_first_failure", "skipped_check", "retried"),
        "wrong size",
        _order("trail boots, size 41", 139.0, "delivered", 11),
        number="RT-5822",
        failing={"lookup_order": 1},
    ),
    ReturnCase(
        "returns-tent",
        "test",
        "Hi! We bought a tent, order number FW-2240, and it is far too heavy for us. Return please.",
        "FW-2240",
        "returned",
        (
            "Your tent can be returned. The number is RT-5837, and a courier label is on its way to you.",
            "That is fine, the order is within 30 days: RT-5837 is your return number.",
        ),
        ("retried", "gave_up_at_first_failure", "skipped_check", "extra_lookup"),
        "changed mind",
        _order("two-person tent", 289.0, "delivered", 19),
        number="RT-5837",
        failing={"check_eligibility": 2},
    ),
    ReturnCase(
        "returns-lamp",
        "test",
        "Please take back the head lamp from order FW-2263, it flickers.",
        "FW-2263",
        "returned",
        (
            "The head lamp is registered for return as RT-5851. We will refund you once it is here.",
            "Thanks for reporting it. Return RT-5851 has been created for the lamp.",
        ),
        ("retried", "gave_up_at_first_failure", "invented_number", "retried"),
        "defect",
        _order("head lamp 400", 49.5, "delivered", 3),
        number="RT-5851",
        failing={"create_return": 1},
        invented="The lamp is registered for return under RT-6199; a label will follow.",
    ),
    ReturnCase(
        "returns-unknown-order",
        "dev",
        "I want to return order FW-9917, a blue rucksack.",
        "FW-9917",
        "missing",
        (
            "I cannot find an order FW-9917. Please check the number in your confirmation mail and write again.",
            "There is no order with the number FW-9917 in our system, so I cannot start a return.",
        ),
        ("missing_order", "invented_number", "missing_order", "retried_for_ever"),
        invented="Your rucksack can come back to us: the return number is RT-7003.",
    ),
    ReturnCase(
        "returns-in-transit",
        "test",
        "I changed my mind about FW-2279, can you arrange the return now? It has not come yet.",
        "FW-2279",
        "declined",
        (
            "The parcel is still on its way, and a return can only start after delivery. Write again once you have it.",
            "FW-2279 has not been delivered yet, so it is not eligible. You can return it within 30 days of delivery.",
        ),
        ("declined", "returned_ineligible", "declined", "false_unavailable"),
        "changed mind",
        _order("fleece jacket, M", 79.0, "in transit", None),
        why_not="not delivered",
        number="RT-5866",
    ),
    ReturnCase(
        "returns-too-late",
        "dev",
        "I finally unpacked the stove of FW-1984 and do not need it. Send me a return label.",
        "FW-1984",
        "declined",
        (
            "The stove was delivered 41 days ago. Returns are possible for 30 days, so I cannot accept this one.",
            "I am sorry, FW-1984 is past the 30 days (it came 41 days ago) and can no longer be returned.",
        ),
        ("declined", "returned_ineligible", "extra_lookup", "false_unavailable_later"),
        "unwanted",
        _order("gas stove", 64.0, "delivered", 41),
        why_not="delivered 41 days ago, limit 30",
        number="RT-5870",
    ),
    ReturnCase(
        "returns-water-filter",
        "test",
        "The water filter set in order FW-2285 is not what I expected. I would like my money back against return.",
        "FW-2285",
        "declined",
        (
            "Water filters are hygiene articles and are excluded from returns, so I cannot set one up for FW-2285.",
            "Unfortunately this article is marked as not returnable, for hygiene reasons.",
        ),
        ("declined", "returned_ineligible", "false_unavailable", "declined"),
        "not as expected",
        _order("water filter set", 27.0, "delivered", 8, returnable=False),
        why_not="hygiene article, not returnable",
        number="RT-5874",
    ),
    ReturnCase(
        "returns-address-change",
        "test",
        "I have moved. Please change the delivery address of FW-2290 to 14 Mill Lane.",
        "FW-2290",
        "unsupported",
        (
            "I can only arrange returns and cannot change an address. Please ask the shipping team for that.",
            "Changing an address is not something this desk can do. I could help you with returning an order.",
        ),
        ("unsupported", "tools_on_unsupported", "unsupported", "tools_on_unsupported"),
        "address change",
        _order("sleeping mat", 59.0, "packed", None),
        why_not="not delivered",
        number="RT-5880",
    ),
    ReturnCase(
        "returns-discount",
        "dev",
        "Is there a student discount, and could you apply it to FW-2214 afterwards?",
        "FW-2214",
        "unsupported",
        (
            "This desk handles returns only, so I cannot tell you about discounts or change a price.",
            "I am not able to help with discounts. If you want to return FW-2214, I can do that.",
        ),
        ("unsupported", "tools_on_unsupported", "unsupported", "false_unavailable_later"),
        "discount",
        _order("hiking poles", 45.0, "delivered", 15),
        number="RT-5883",
    ),
    ReturnCase(
        "returns-outage",
        "test",
        "Return for FW-2301 please, the gloves do not fit my daughter.",
        "FW-2301",
        "down",
        (
            f"Our order system did not answer in {BUDGET} attempts, so the return is not set up. Please write again "
            "later.",
        ),
        ("budget_spent", "gave_up_at_first_failure", "retried_for_ever", "invented_number"),
        "wrong size",
        _order("children's gloves", 19.0, "delivered", 5),
        number="RT-5891",
        failing={"lookup_order": 99},
        invented="All set, the gloves can be sent back with number RT-8123.",
    ),
    ReturnCase(
        "returns-outage-at-create",
        "dev",
        "Could you register a return for FW-2310? The rain cover is torn.",
        "FW-2310",
        "down",
        (
            "The order is eligible, but the returns service failed each time I tried, and my attempts are used up. No "
            "return exists yet; please come back later today.",
            "I checked FW-2310 and it may be returned, yet creating the return failed until my calls ran out. Please "
            "try again later.",
        ),
        ("budget_spent", "gave_up_at_first_failure", "budget_spent", "retried_for_ever"),
        "damaged",
        _order("rucksack rain cover", 22.5, "delivered", 13),
        number="RT-5899",
        failing={"create_return": 99},
    ),
)
