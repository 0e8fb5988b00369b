"""pawl config: effective settings, their sources and their errors. It needs no database."""

import json
import pathlib

import pytest

from program import refused, run_pawl

SECRET = "correct-horse-battery-staple"
MANUAL = pathlib.Path(__file__).parents[2] / "docs" / "configuration.md"


@pytest.fixture
def file(tmp_path):
    def write(text):
        path = tmp_path / "pawl.ini"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path
    return write


def check(path, *args, **extra):
    return run_pawl("config", "check", "--config", path, "--db", "sqlite:app.db", *args, **extra)


def shown(*args, **extra):
    result = run_pawl("--json", "config", "show", *args, **extra)
    assert result.returncode == 0, result
    return {(part["section"], part["name"], entry["key"]): entry
            for part in json.loads(result.stdout)["sections"] for entry in part["settings"]}


def test_the_manual_is_the_help_of_the_program():
    result = run_pawl("config", "reference")
    assert result.returncode == 0
    assert result.stdout.decode() == MANUAL.read_text(), \
        "regenerate docs/configuration.md: pawl config reference > docs/configuration.md"


def test_flags_override_environment_and_environment_overrides_file(file):
    path = file("[server]\nlisten = 127.0.0.1:1\n[log]\nlevel = error\n")
    listen = ("server", None, "listen")

    assert shown()[listen] == {"key": "listen", "value": "127.0.0.1:7295", "source": "default"}
    assert shown("-c", path)[listen] == {"key": "listen", "value": "127.0.0.1:1", "source": "file",
                                         "line": 2}
    settings = shown("-c", path, PAWL_SERVER_LISTEN="127.0.0.1:2", PAWL_LOG_FORMAT="json")
    assert settings[listen]["value"] == "127.0.0.1:2"
    assert settings[listen]["source"] == "environment"
    assert settings["log", None, "format"]["value"] == "json"
    assert settings["log", None, "level"]["value"] == "error"
    settings = shown("-c", path, "--listen", "127.0.0.1:3", PAWL_SERVER_LISTEN="127.0.0.1:2")
    assert settings[listen]["value"] == "127.0.0.1:3"
    assert settings[listen]["source"] == "flag"


def test_the_file_may_be_named_by_the_environment(file):
    path = file("[log]\nlevel = debug\n")
    assert shown(PAWL_CONFIG=str(path))["log", None, "level"]["value"] == "debug"


def test_every_flag_of_the_settings_is_an_option():
    said = run_pawl("config", "--help").stdout.decode()
    for flag in ("--config FILE", "--listen ADDRESS:PORT", "--socket PATH", "--log-format text|json",
                 "--token SOURCE", "--tls-cert PATH", "--grace TIME"):
        assert flag in said
    settings = shown("--socket", "/run/x.sock", "--log-level", "debug", "--schema", "other",
                     "--timeout", "5s", "--db", "sqlite:a.db")
    assert settings["server", None, "socket"]["value"] == "/run/x.sock"
    assert settings["log", None, "level"]["value"] == "debug"
    assert settings["database", None, "schema"]["value"] == "other"
    assert settings["database", None, "timeout"]["value"] == "5s"
    assert settings["database", None, "url"]["value"] == "sqlite:a.db"


def test_the_shown_configuration_is_a_valid_file_with_the_same_settings(file, tmp_path):
    secret = tmp_path / "secret"
    secret.write_text(SECRET)
    secret.chmod(0o600)
    path = file(f"[service a b]\nurl = https://b\nsecret = file:{secret}, env:OTHER\n"
                "[receive *]\ncommand = cat; true\n[server]\nmax_body = 65536\n")
    once = run_pawl("config", "show", "-c", path)
    again = file(once.stdout)
    assert once.returncode == 0
    assert SECRET not in once.stdout.decode()
    settings = shown("-c", again)
    assert settings["service", "a b", "secret"]["value"] == f"file:{secret}, env:OTHER"
    assert settings["receive", "*", "command"]["value"] == "cat; true"
    assert settings["server", None, "max_body"]["value"] == "64KiB"


@pytest.mark.parametrize("url, seen", [
    ("postgresql://ann:hunter2@db/app", "postgresql://ann:***@db/app"),
    ("postgresql://db/app?user=ann&password=hunter2&x=1", "postgresql://db/app?user=ann&password=***&x=1"),
    ("host=db password='hunter2 \\' x' user=ann", "host=db password=*** user=ann"),
    ("host=db sslpassword = hunter2 password=hunter2", "host=db sslpassword = *** password=***"),
    ("postgresql://ann:hunter2/@x@db/app", "postgresql://ann:***@db/app"),
    ("sqlite:app.db", "sqlite:app.db"),
])
def test_passwords_in_urls_are_hidden(url, seen):
    result = run_pawl("config", "show", "--db", url)
    assert f"url = {seen} " in result.stdout.decode()
    assert "hunter2" not in result.stdout.decode()


def test_all_errors_are_reported_at_once(file):
    path = file("[server]\nlisen = 127.0.0.1:1\nmax_body = 1MB\n[servr]\nanything = 1\n"
                "[inbox]\nmax_attempts = 0\nno equals sign\n[service]\n[receive x]\n")
    result = check(path)
    refused(result, 64, f"{path}:2: unknown key 'lisen' in [server]; did you mean 'listen'?",
            f"{path}:3: [server] max_body must be a size such as 512, 64KiB or 1MiB, from 1KiB to "
            "64MiB, not '1MB'",
            f"{path}:4: unknown section [servr]; did you mean [server]?",
            f"{path}:7: [inbox] max_attempts must be an integer from 1 to 1000, not '0'",
            f"{path}:8: invalid line; use key = value",
            f"{path}:9: [service] needs a name: [service NAME]",
            f"{path}:10: [receive x] must have exactly one of forward, command and enqueue; it has 0",
            "7 problems")
    assert "anything" not in result.stderr.decode()
    assert len(result.stderr.decode().splitlines()) == 8
    document = json.loads(check(path, "--json").stdout)
    assert document["good"] is False
    assert len(document["problems"]) == 7


@pytest.mark.parametrize("text, said", [
    ("listen = 127.0.0.1:1\n", ":1: a setting before the first section"),
    ("[server]\nlisten = 127.0.0.1:1\nlisten = here\n", "use ADDRESS:PORT, such as 127.0.0.1:7295"),
    ("[server]\nsocket = a\nsocket = b\n", ":3: [server] socket is set twice, here and in line 2"),
    ("[server]\n[log]\n[server]\n", ":3: duplicate section [server]; it begins in line 1"),
    ("[server x]\n", ":1: [server] takes no name"),
    ("[server\n", ":1: invalid section heading"),
    ("[server] x\n", ":1: invalid section heading"),
    ("[server]\nsocket =\n", "socket must be a non-empty string"),
    ("[server]\nsocket = " + "x" * 120 + "\n", "the path of a unix socket may have at most 107"),
    ("[server]\n; fine\nsocket = " + "x" * 8184 + "\n", ":3: the line has 8193 bytes; the maximum is 8192"),
    ("[server]\nsocket = a\0b\n", ":2: the line is not valid UTF-8"),
    ("[server]\nsocket = a\033[31mb\n", ":2: the line is not valid UTF-8"),
    ("[server]\nlisten = 0.0.0.0:80\n", "needs token, tls_cert and tls_key in [server]"),
    ("[server]\nlisten = [::]:80\n", "is not a loopback address"),
    ("[server]\nlisten = 127.0.0.1:99999\n", "invalid address"),
    ("[server]\nlisten = 127.0.0.1:1,\n", "a comma-separated list"),
    ("[server]\ntls_cert = /none\n", "tls_cert requires tls_key, too"),
    ("[server]\ntls_cert = /none\n", "'/none' cannot be read"),
    ("[server]\ntoken = env:NO_SUCH_VARIABLE\n", "NO_SUCH_VARIABLE does not exist"),
    ("[server]\ntoken = file:/none\n", "the secret file:/none does not exist"),
    ("[database]\ntimeout = 30\n", "a duration such as 250ms, 30s"),
    ("[database]\ndeploy = maybe\n", "must be on or off, not 'maybe'"),
    ("[log]\nlevel = loud\n", "must be debug, info, warning or error, not 'loud'"),
    ("[inbox]\nretention = 1h\n", "must be at least twice the retry_window"),
    ("[inbox]\nretention = 2h\nreplay_window = 61m\n", "must be at least twice the replay_window"),
    ("[server]\ntrusted_proxies = 10.0.0.0/8, proxy\n", "invalid address or network 'proxy'"),
    ("[service a]\nurl = ftp://x\n", "must begin with http://"),
    ("[service *]\nurl = http://x\n", "[service *] is for destinations that are URLs"),
    ("[service a]\nretry_max = 1s\n", "must not be less than retry_base"),
    ("[service a]\ntimeout = 1s\n", "connect_timeout must not be more than timeout"),
    ("[receive a]\nforward = x\n", "must begin with http://"),
    ("[receive a]\ncommand = x\ndestination = b\n", "requires enqueue"),
])
def test_errors_are_reported(file, text, said):
    path = file(text)
    refused(check(path), 64, said)


@pytest.mark.parametrize("text", [
    b"", b"\xef\xbb\xbf[server]\r\nlisten = 127.0.0.1:1, [::1]:2 ; two\r\n",
    b"[server]\nlisten = none\nsocket = /run/pawl.sock\n", b"  # x\n ; y\n\n\t[log] ; z\n level : debug\n",
    b"[server]\nlisten = 127.0.0.1:1\nlisten = localhost:2\n",
])
def test_a_valid_configuration_is_accepted(file, text):
    result = check(file(text))
    assert result.returncode == 0, result
    assert result.stdout.decode() == "The configuration is valid.\n"


@pytest.mark.parametrize("text", [f"[service a]\nsecret = {SECRET}\n", f"[server]\ntoken = {SECRET}\n",
                                  f"[service a]\nsecret = file:/none, {SECRET}\n"])
def test_a_secret_in_the_file_is_refused_and_not_repeated(file, text):
    result = check(file(text))
    refused(result, 64, "file:PATH or env:NAME")
    assert SECRET not in result.stderr.decode() + result.stdout.decode()


def test_a_short_secret_is_refused_and_not_repeated(file):
    result = check(file("[server]\ntoken = env:TOKEN\n"), TOKEN="hunter2")
    refused(result, 64, "env:TOKEN", "7 bytes; a secret must have 16 to 4096")
    assert "hunter2" not in result.stderr.decode()


def test_a_missing_file_is_reported(tmp_path):
    refused(check(tmp_path / "none.ini"), 64, "cannot be read: No such file or directory")


def test_a_missing_database_is_reported(file):
    refused(run_pawl("config", "check", "-c", file("")), 64, "no database given")


def test_a_wrong_flag_is_named_by_its_own_name():
    refused(run_pawl("config", "check", "--db", "sqlite:x", "--grace", "soon"), 64,
            "--grace must be a duration")
    refused(run_pawl("config", "check", "--db", "sqlite:x", PAWL_LOG_LEVEL="loud"), 64,
            "PAWL_LOG_LEVEL must be debug, info, warning or error, not 'loud'")


@pytest.mark.parametrize("args, said", [
    (["config"], "use 'pawl config show'"),
    (["config", "shw"], "did you mean 'show'"),
    (["config", "show", "me"], "takes no argument 'me'"),
    (["config", "show", "--lisen", "x"], "did you mean --listen?"),
])
def test_a_wrong_command_line_is_reported(args, said):
    refused(run_pawl(*args), 64, said)
