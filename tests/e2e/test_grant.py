"""PostgreSQL's roles: what init says without them, and grant. On a server of its own: roles belong to all of it."""

import json
import os
import pathlib
import subprocess
import sys

import pytest

from program import PAWL

WITH_POSTGRES = pathlib.Path(__file__).resolve().parents[1] / "with-postgres"

# Run by this file on the server that with-postgres starts.
SCRIPT = """
import json, os, subprocess, sys
server = os.environ["PAWL_TEST_POSTGRES"]
def psql(sql):
    return subprocess.run(["psql", "-qXAt", "-v", "ON_ERROR_STOP=1", "-c", sql, server], check=True, text=True,
                          stdout=subprocess.PIPE).stdout.strip()
def pawl(user, *args):
    done = subprocess.run([os.environ["PAWL_BIN"], *args, "--db", server + (f" user={user}" if user else "")],
                          capture_output=True, text=True, check=False)
    return [done.returncode, done.stdout, done.stderr]
psql("CREATE ROLE plain LOGIN")
psql("CREATE ROLE other LOGIN")
psql("CREATE SCHEMA pawl AUTHORIZATION plain")
psql("CREATE SCHEMA said AUTHORIZATION plain")
roles = "SELECT count(*) FROM pg_roles WHERE rolname LIKE 'pawl%'"
print(json.dumps({
    "json": pawl("plain", "init", "--schema", "said", "--json"),
    "init": pawl("plain", "init"), "again": pawl("plain", "init"), "owner": pawl("plain", "send", "t", "x"),
    "before": psql(roles), "denied": pawl("plain", "grant"), "stranger": pawl("other", "grant"),
    "grant": pawl(None, "grant"), "after": psql(roles), "repeated": pawl("plain", "grant", "--json"),
    "owners": psql("SELECT count(*) FROM pg_proc WHERE pronamespace = 'pawl'::regnamespace"
                   " AND proowner <> 'plain'::regrole"),
    "sender": [psql("GRANT pawl_send TO other"), pawl("other", "send", "t", "y")][1],
    "spoilt": [psql("GRANT SELECT ON pawl.body TO pawl_send; GRANT SELECT (payload) ON pawl.body TO pawl_work;"
                    "REVOKE EXECUTE ON FUNCTION pawl.schema_version FROM pawl_send"),
               pawl("plain", "grant")][1],
    "rights": psql("SELECT has_table_privilege('pawl_send', 'pawl.body', 'SELECT')"
                   " OR has_any_column_privilege('pawl_work', 'pawl.body', 'SELECT')"),
    "sends": pawl("other", "send", "t", "z"),
    "handed": [psql("CREATE SCHEMA handed AUTHORIZATION plain"), pawl(None, "init", "--schema", "handed", "--json")][1],
    "others": psql("SELECT string_agg(x.name, ' ') FROM (SELECT oid::regclass::text, relnamespace, relowner FROM pg_class"
                   " UNION ALL SELECT oid::regprocedure::text, pronamespace, proowner FROM pg_proc"
                   " UNION ALL SELECT oid::regtype::text, typnamespace, typowner FROM pg_type) AS x(name, space, owner)"
                   " WHERE x.space = 'handed'::regnamespace AND x.owner <> 'plain'::regrole"),
    "definers": psql("SELECT count(*) FROM pg_proc WHERE pronamespace = 'handed'::regnamespace AND prosecdef"),
    "works": [pawl("plain", "send", "t", "x", "--schema", "handed"), pawl("other", "send", "t", "x", "--schema", "handed")],
}))
"""


@pytest.fixture(scope="module")
def results():
    environment = {name: value for name, value in os.environ.items() if name != "PAWL_TEST_POSTGRES"}
    environment["PAWL_BIN"] = str(PAWL)
    done = subprocess.run([WITH_POSTGRES, sys.executable, "-c", SCRIPT], env=environment, capture_output=True,
                          text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_init_reports_missing_roles_and_the_next_step(results):
    code, out, error = results["init"]
    assert code == 0 and "Created the schema" in out
    assert "pawl_send, pawl_work, pawl_admin" in error and "pawl grant" in error
    assert results["before"] == "0"
    assert results["again"][0] == 0 and results["again"][2] == ""
    assert results["owner"][0] == 0


def test_init_names_the_missing_roles_in_json(results):
    code, out, error = results["json"]
    assert code == 0 and "pawl grant" in error
    assert json.loads(out)["missing_roles"] == ["pawl_send", "pawl_work", "pawl_admin"]
    assert json.loads(results["handed"][1])["missing_roles"] == []


def test_a_superuser_gives_everything_to_the_schemas_owner(results):
    assert results["handed"][0] == 0, results["handed"][2]
    assert results["others"] == ""
    assert int(results["definers"]) > 80
    assert [one[0] for one in results["works"]] == [0, 0], results["works"]


def test_grant_needs_the_right_to_create_roles(results):
    code, _, error = results["denied"]
    assert code == 77 and "pawl_send, pawl_work, pawl_admin" in error and "CREATEROLE" in error


def test_a_user_without_rights_cannot_grant(results):
    code, _, error = results["stranger"]
    assert code == 77, error


def test_grant_makes_the_roles_and_may_be_repeated(results):
    assert results["grant"][0] == 0 and "pawl_send" in results["grant"][1]
    assert results["after"] == "3" and results["owners"] == "0"
    assert json.loads(results["repeated"][1]) == {"roles": ["pawl_send", "pawl_work", "pawl_admin"]}
    assert results["sender"][0] == 0, results["sender"][2]


def test_grant_restores_changed_rights(results):
    assert results["spoilt"][0] == 0
    assert results["rights"] == "f"
    assert results["sends"][0] == 0, results["sends"][2]


def test_sqlite_has_no_roles(tmp_path):
    subprocess.run([PAWL, "init", "--db", f"sqlite:{tmp_path}/a.db"], check=True, stdout=subprocess.DEVNULL)
    done = subprocess.run([PAWL, "grant", "--db", f"sqlite:{tmp_path}/a.db"], capture_output=True, text=True,
                          check=False)
    assert done.returncode != 0 and "SQLite has no roles" in done.stderr
