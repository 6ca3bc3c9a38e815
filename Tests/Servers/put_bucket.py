#!/usr/bin/env python3
"""Makes a bucket: put_bucket.py ENDPOINT BUCKET KEY SECRET. Signature Version 4, written apart from the code under test."""
import datetime
import hashlib
import hmac
import sys
import time
import urllib.error
import urllib.request


def sign(endpoint, path, method, key, secret, region="us-east-1"):
    host = endpoint.split("//")[1]
    now = datetime.datetime.now(datetime.timezone.utc).strftime("%Y%m%dT%H%M%SZ")
    empty = hashlib.sha256(b"").hexdigest()
    headers = {"host": host, "x-amz-content-sha256": empty, "x-amz-date": now}
    names = ";".join(sorted(headers))
    text = "\n".join([method, path, "", "".join("%s:%s\n" % (n, headers[n]) for n in sorted(headers)), names, empty])
    scope = "%s/%s/s3/aws4_request" % (now[:8], region)
    seed = ("AWS4" + secret).encode()
    for part in scope.split("/"):
        seed = hmac.new(seed, part.encode(), hashlib.sha256).digest()
    to_sign = "\n".join(["AWS4-HMAC-SHA256", now, scope, hashlib.sha256(text.encode()).hexdigest()])
    signature = hmac.new(seed, to_sign.encode(), hashlib.sha256).hexdigest()
    headers["authorization"] = "AWS4-HMAC-SHA256 Credential=%s/%s, SignedHeaders=%s, Signature=%s" % (key, scope, names, signature)
    return headers


def main():
    endpoint, bucket, key, secret = sys.argv[1:]
    for attempt in range(50):
        try:
            headers = sign(endpoint, "/" + bucket, "PUT", key, secret)
            urllib.request.urlopen(urllib.request.Request(endpoint + "/" + bucket, method="PUT", headers=headers)).read()
            return
        except urllib.error.HTTPError as error:
            if error.code == 409:
                return
            last = error
        except OSError as error:
            last = error
        time.sleep(0.3)
    sys.exit("put_bucket.py: %s" % last)


main()
