"""A bucket as tests use it: Signature Version 4 and five requests, written apart from the code under test."""
import datetime
import hashlib
import hmac
import http.client
import threading
import urllib.parse
import xml.etree.ElementTree as xml


class Refused(Exception):
    def __init__(self, status, body):
        super().__init__("status %d: %s" % (status, body[:300].decode("utf-8", "replace")))
        self.status = status


def sign(endpoint, path, method, key, secret, region="us-east-1", query="", body=b""):
    """The headers of a request. `query` is encoded and in the order of its names."""
    host = endpoint.split("//")[1]
    now = datetime.datetime.now(datetime.timezone.utc).strftime("%Y%m%dT%H%M%SZ")
    digest = hashlib.sha256(body).hexdigest()
    headers = {"host": host, "x-amz-content-sha256": digest, "x-amz-date": now}
    names = ";".join(sorted(headers))
    text = "\n".join([method, path, query, "".join("%s:%s\n" % (n, headers[n]) for n in sorted(headers)), names, digest])
    scope = "%s/%s/s3/aws4_request" % (now[:8], region)
    seed = ("AWS4" + secret).encode()
    for part in scope.split("/"):
        seed = hmac.new(seed, part.encode(), hashlib.sha256).digest()
    to_sign = "\n".join(["AWS4-HMAC-SHA256", now, scope, hashlib.sha256(text.encode()).hexdigest()])
    signature = hmac.new(seed, to_sign.encode(), hashlib.sha256).hexdigest()
    headers["authorization"] = "AWS4-HMAC-SHA256 Credential=%s/%s, SignedHeaders=%s, Signature=%s" % (key, scope, names, signature)
    return headers


class Bucket:
    """One bucket. Safe from several threads: each has a connection of its own."""

    def __init__(self, endpoint, name, key="testkey", secret="testsecret"):
        self.endpoint, self.name, self.key, self.secret = endpoint, name, key, secret
        self.threads = threading.local()

    def request(self, method, path="", query=(), body=b""):
        place = urllib.parse.quote("/%s%s" % (self.name, "/" + path if path else ""))
        text = "&".join("%s=%s" % (n, urllib.parse.quote(v, safe="")) for n, v in sorted(query))
        headers = sign(self.endpoint, place, method, self.key, self.secret, query=text, body=body)
        for attempt in range(2):
            if not hasattr(self.threads, "connection"):
                self.threads.connection = http.client.HTTPConnection(self.endpoint.split("//")[1], timeout=60)
            try:
                self.threads.connection.request(method, place + ("?" + text if text else ""), body=body or None, headers=headers)
                answer = self.threads.connection.getresponse()
                data = answer.read()
            except (OSError, http.client.HTTPException):
                # The server may have ended a connection that was idle.
                self.threads.connection.close()
                del self.threads.connection
                if attempt:
                    raise
                continue
            if answer.status >= 300:
                raise Refused(answer.status, data)
            return data

    def make(self):
        try:
            self.request("PUT")
        except Refused as refusal:
            if refusal.status != 409:
                raise

    def get(self, path):
        return self.request("GET", path)

    def put(self, path, body):
        self.request("PUT", path, body=body)

    def remove(self, path):
        self.request("DELETE", path)

    def keys(self, prefix):
        """The keys that begin with a prefix, in their order."""
        found, token = [], None
        while True:
            query = [("list-type", "2"), ("prefix", prefix)] + ([("continuation-token", token)] if token else [])
            page = xml.fromstring(self.request("GET", query=query))
            values = {}
            for element in page.iter():
                values.setdefault(element.tag.rpartition("}")[2], []).append(element.text)
            found += values.get("Key", [])
            if values.get("IsTruncated", ["false"])[0] != "true":
                return found
            token = values["NextContinuationToken"][0]

    def uploads(self, prefix):
        """The keys of the uploads in parts that were neither finished nor abandoned."""
        page = xml.fromstring(self.request("GET", query=[("uploads", ""), ("prefix", prefix)]))
        return [element.text for element in page.iter() if element.tag.rpartition("}")[2] == "Key"]
