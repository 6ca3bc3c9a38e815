#!/usr/bin/env python3
"""Makes a bucket: put_bucket.py ENDPOINT BUCKET KEY SECRET."""
import sys
import time

sys.dont_write_bytecode = True

import s3


def main():
    endpoint, bucket, key, secret = sys.argv[1:]
    for attempt in range(50):
        try:
            return s3.Bucket(endpoint, bucket, key, secret).make()
        except (OSError, s3.Refused) as error:
            last = error
        time.sleep(0.3)
    sys.exit("put_bucket.py: %s" % last)


main()
