"""Makes occurrences.json: when schedules begin, worked out by another method than the one under test.

Every day of a span is held against the rule as written (nothing is stepped or jumped), and the wall clock becomes an
instant by Python's zoneinfo, whose fold=0 is the earlier of two times and, in a gap, the offset from before the leap.
Run it with: python3 test/core/schedule/occurrences.py > test/core/schedule/occurrences.json
"""

import json
from calendar import monthrange
from datetime import date, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

DAYS = ["MO", "TU", "WE", "TH", "FR", "SA", "SU"]

# zone, first day, time, rule, days to look at
CASES = [
    ("Europe/Berlin", "2026-03-20", "02:30", "FREQ=DAILY", 20),
    ("Europe/Berlin", "2026-10-15", "02:30", "FREQ=DAILY", 20),
    ("Europe/Berlin", "2026-03-01", "03:00", "FREQ=WEEKLY;BYDAY=SU", 60),
    ("America/New_York", "2026-03-01", "02:15", "FREQ=WEEKLY;BYDAY=SU,WE", 40),
    ("America/New_York", "2026-10-20", "01:30", "FREQ=DAILY;INTERVAL=2", 30),
    ("America/St_Johns", "2025-03-05", "02:00", "FREQ=DAILY;COUNT=8", 30),
    ("Australia/Lord_Howe", "2025-10-01", "02:10", "FREQ=DAILY", 9),
    ("Australia/Lord_Howe", "2026-04-01", "01:45", "FREQ=DAILY", 9),
    ("Pacific/Apia", "2011-12-26", "10:00", "FREQ=DAILY", 9),
    ("Asia/Kolkata", "2026-01-05", "23:45", "FREQ=WEEKLY;INTERVAL=3;BYDAY=MO,FR", 120),
    ("Asia/Kathmandu", "2026-01-07", "00:00", "FREQ=WEEKLY", 50),
    ("America/Sao_Paulo", "2018-10-30", "00:00", "FREQ=DAILY", 9),
    ("Africa/Cairo", "2025-04-20", "00:30", "FREQ=DAILY", 9),
    ("Europe/London", "2025-01-31", "12:00", "FREQ=MONTHLY", 500),
    ("Europe/London", "2025-01-31", "01:30", "FREQ=MONTHLY;BYMONTHDAY=-1", 500),
    ("Europe/London", "2025-01-30", "01:30", "FREQ=MONTHLY;BYMONTHDAY=29,30,-31", 500),
    ("Europe/Vienna", "2024-02-29", "08:00", "FREQ=MONTHLY;INTERVAL=12", 4000),
    ("Europe/Vienna", "2024-02-29", "08:00", "FREQ=MONTHLY;BYMONTHDAY=29;INTERVAL=3", 900),
    ("UTC", "2024-02-01", "00:00", "FREQ=DAILY;BYMONTHDAY=28,29", 1500),
    ("America/Los_Angeles", "2026-01-01", "02:30", "FREQ=MONTHLY;BYDAY=2SU", 700),
    ("America/Los_Angeles", "2026-01-01", "18:00", "FREQ=MONTHLY;BYDAY=-1FR,1MO;INTERVAL=2", 700),
    ("America/Los_Angeles", "2026-01-01", "18:00", "FREQ=MONTHLY;BYDAY=5TH", 700),
    ("Europe/Paris", "2026-01-13", "13:13", "FREQ=MONTHLY;BYDAY=FR;BYMONTHDAY=13", 3000),
    ("Europe/Paris", "2026-03-25", "02:59", "FREQ=DAILY;BYDAY=SA,SU", 20),
    ("Europe/Paris", "2026-01-01", "09:00", "FREQ=WEEKLY;INTERVAL=2;WKST=SU;BYDAY=SU,MO", 90),
    ("Europe/Paris", "2026-01-01", "09:00", "FREQ=WEEKLY;INTERVAL=2;BYDAY=SU,MO", 90),
    ("Europe/Paris", "2026-01-01", "09:00", "FREQ=DAILY;UNTIL=20260106", 20),
    ("Europe/Paris", "2026-01-01", "09:00", "FREQ=DAILY;UNTIL=20260106T080000Z", 20),
    ("Europe/Paris", "2026-01-01", "09:00", "FREQ=DAILY;UNTIL=20260106T085959", 20),
    ("Europe/Paris", "2026-01-01", "09:00", "FREQ=MONTHLY;COUNT=3;BYDAY=WE", 90),
]


def nth_matches(token, day):
    if not day.weekday() == DAYS.index(token[-2:]):
        return False
    if len(token) == 2:
        return True
    nth = int(token[:-2])
    same = [d for d in range(1, monthrange(day.year, day.month)[1] + 1)
            if date(day.year, day.month, d).weekday() == day.weekday()]
    return len(same) >= abs(nth) and same[nth - 1 if nth > 0 else nth] == day.day


def matches(rule, start, day):
    interval = int(rule.get("INTERVAL", "1"))
    byday = rule.get("BYDAY", "").split(",") if "BYDAY" in rule else []
    bymonthday = [int(n) for n in rule["BYMONTHDAY"].split(",")] if "BYMONTHDAY" in rule else []
    if rule["FREQ"] == "DAILY" and (day - start).days % interval:
        return False
    if rule["FREQ"] == "WEEKLY":
        first = DAYS.index(rule.get("WKST", "MO"))
        week = lambda d: d - timedelta(days=(d.weekday() - first) % 7)
        if ((week(day) - week(start)).days // 7) % interval:
            return False
        byday = byday or [DAYS[start.weekday()]]
    if rule["FREQ"] == "MONTHLY":
        if ((day.year - start.year) * 12 + day.month - start.month) % interval:
            return False
        if not byday and not bymonthday:
            bymonthday = [start.day]
    if byday and not any(nth_matches(token, day) for token in byday):
        return False
    length = monthrange(day.year, day.month)[1]
    return not bymonthday or day.day in bymonthday or day.day - length - 1 in bymonthday


def is_behind(until, wall, instant):
    if until is None:
        return False
    if until.endswith("Z"):
        return instant > datetime.strptime(until, "%Y%m%dT%H%M%SZ").replace(tzinfo=timezone.utc)
    if "T" in until:
        return wall > datetime.strptime(until, "%Y%m%dT%H%M%S")
    return wall.date() > datetime.strptime(until, "%Y%m%d").date()


def occurrences(zone, first, time, text, span):
    rule = dict(part.split("=") for part in text.split(";"))
    start = date.fromisoformat(first)
    hour, minute = map(int, time.split(":"))
    found = []
    for offset in range(span):
        day = start + timedelta(days=offset)
        if not matches(rule, start, day):
            continue
        wall = datetime(day.year, day.month, day.day, hour, minute)
        instant = wall.replace(tzinfo=ZoneInfo(zone), fold=0).astimezone(timezone.utc)
        if is_behind(rule.get("UNTIL"), wall, instant) or len(found) == int(rule.get("COUNT", "9999")):
            break
        text = instant.strftime("%Y-%m-%dT%H:%M:%S.000Z")
        if text not in found:
            found.append(text)
    return found


print("[")
lines = []
for zone, first, time, rule, span in CASES:
    case = {"timeZone": zone, "startDate": first, "startTime": time, "recurrence": "RRULE:" + rule,
            "starts": occurrences(zone, first, time, rule, span)}
    lines.append(json.dumps(case))
print(",\n".join(lines))
print("]")
