"""The TensorBoard plugin: hands requests to ``Api`` and its answers to TensorBoard."""

from __future__ import annotations

import gzip
from collections.abc import Callable, Sequence
from typing import Any

from tensorboard.plugins import base_plugin
from werkzeug import wrappers

from stepscope_tensorboard.answers import JSON, Answer, json_answer
from stepscope_tensorboard.api import Api
from stepscope_tensorboard.control_routes import MAX_BODY_BYTES
from stepscope_tensorboard.logdirs import roots
from stepscope_tensorboard.static_files import StaticFiles

_PREFIX = "/data/plugin/stepscope/"
#: Smaller answers gain nothing from compression.
_GZIP_FROM_BYTES = 8192


class StepscopePlugin(base_plugin.TBPlugin):
    """The tab Stepscope."""

    plugin_name = "stepscope"

    def __init__(self, context: base_plugin.TBContext) -> None:
        flags = context.flags
        logdir = getattr(flags, "logdir", None) or context.logdir
        self._api = Api(roots(logdir, getattr(flags, "logdir_spec", None)))
        self._static = StaticFiles()
        self._api.first_look.begin()

    def get_plugin_apps(self) -> dict[str, Callable]:
        data = {f"/{route}": self._app(self._data) for route in self._api.routes}
        posts = {f"/{route}": self._app(self._post, ("POST",)) for route in self._api.posts}
        return {**data, **posts, "/index.js": self._app(self._file), "/*": self._app(self._file)}

    def is_active(self) -> bool:
        """Always: a tab that hides in a menu until there is a run is not found by who has just installed it, and
        the page without runs tells how to get one."""
        return True

    def frontend_metadata(self) -> base_plugin.FrontendMetadata:
        return base_plugin.FrontendMetadata(es_module_path="/index.js", tab_name="Stepscope", disable_reload=False)

    def _data(self, request: wrappers.Request) -> Answer:
        return self._api.answer(_name(request), request.args, request.headers.get("If-None-Match"))

    def _post(self, request: wrappers.Request) -> Answer:
        # What a client says of the length bounds what is read; without it there is no body.
        if request.content_length is None or request.content_length > MAX_BODY_BYTES:
            return json_answer({"error": f"A body of at most {MAX_BODY_BYTES} bytes is needed."}, 413)
        return self._api.post(_name(request), dict(request.headers.items()), request.host, request.get_data())

    def _file(self, request: wrappers.Request) -> Answer:
        return self._static.answer(_name(request), request.headers.get("If-None-Match"), _takes_gzip(request))

    def _app(self, handle: Callable[[wrappers.Request], Answer], methods: Sequence[str] = ("GET", "HEAD")) -> Callable:
        def app(environ: dict[str, Any], start_response: Callable) -> Any:
            request = wrappers.Request(environ)
            if request.method in methods:
                answer = handle(request)
            else:
                answer = json_answer({"error": f"stepscope answers {methods[0]} requests only here."}, 405)
                answer.headers["Allow"] = ", ".join(methods)
            if answer.status == 304:  # werkzeug drops the type, and TensorBoard warns of every answer without one
                headers = {"Content-Type": answer.content_type, **_headers(answer)}
                start_response("304 NOT MODIFIED", list(headers.items()))
                return [b""]
            return _response(request, answer)(environ, start_response)

        return app


def _name(request: wrappers.Request) -> str:
    """What follows the plugin's prefix, behind whatever TensorBoard itself is served below."""
    return request.path.rpartition(_PREFIX)[2].rstrip("/")


def _takes_gzip(request: wrappers.Request) -> bool:
    return "gzip" in request.headers.get("Accept-Encoding", "")


def _headers(answer: Answer) -> dict[str, str]:
    tag = {} if answer.etag is None else {"ETag": answer.etag}
    return {"Cache-Control": "no-cache", "X-Content-Type-Options": "nosniff", **tag, **answer.headers}


def _response(request: wrappers.Request, answer: Answer) -> wrappers.Response:
    body, headers = answer.body, _headers(answer)
    if answer.content_type == JSON and len(body) >= _GZIP_FROM_BYTES and _takes_gzip(request):
        body, headers["Content-Encoding"] = gzip.compress(body, 1), "gzip"
    if "Content-Encoding" in headers:
        headers["Vary"] = "Accept-Encoding"
    return wrappers.Response(body, answer.status, headers, content_type=answer.content_type)
