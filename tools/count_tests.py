"""Counts the test cases of a Bazel run: prints `passed failed skipped`.

    python3 tools/count_tests.py EVENTS

EVENTS is what `bazel test --build_event_json_file=EVENTS` wrote. It names the
test.xml of every test target of that run, cached ones included. A target that
does not build counts as one failure, and so does a test that crashed.
"""

import json
import sys
import urllib.parse
import xml.etree.ElementTree as ElementTree


def cases_of(path):
    """The outcome of each case in one test.xml."""
    for case in ElementTree.parse(path).getroot().iter("testcase"):
        if case.find("failure") is not None or case.find("error") is not None:
            yield "failed"
        elif case.find("skipped") is not None or case.get("result") == "skipped":
            yield "skipped"
        elif case.get("status", "run") != "notrun":  # notrun: DISABLED_ or filtered
            yield "passed"


def main(events_path):
    counts = {"passed": 0, "failed": 0, "skipped": 0}
    try:
        with open(events_path, encoding="utf-8") as lines:
            events = [json.loads(line) for line in lines]
    except FileNotFoundError:
        events = []
    for event in events:
        identity = event["id"]
        if "testResult" in identity and "testResult" in event:
            result = event["testResult"]
            outcomes = [
                outcome
                for output in result.get("testActionOutput", [])
                if output["name"] == "test.xml"
                for outcome in cases_of(
                    urllib.parse.unquote(urllib.parse.urlparse(output["uri"]).path)
                )
            ]
            # A crash may leave an XML file without the case that crashed.
            if result.get("status") != "PASSED" and "failed" not in outcomes:
                outcomes.append("failed")
            for outcome in outcomes:
                counts[outcome] += 1
        elif "targetCompleted" in identity and "completed" in event:
            if not event["completed"].get("success"):
                counts["failed"] += 1
    print(counts["passed"], counts["failed"], counts["skipped"])


if __name__ == "__main__":
    main(sys.argv[1])
