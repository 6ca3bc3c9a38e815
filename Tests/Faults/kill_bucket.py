#!/usr/bin/env python3
"""As kill_everywhere.py, with the cloud in a bucket of a real object store (SeaweedFS). Calls on the network count, too.

usage: kill_bucket.py SNAPSYNC [--sample N] [--only TEXT] [--at N] [--jobs N] [--seed N]

Ends with 77 where the store cannot be installed.
"""
import sys

sys.dont_write_bytecode = True

from bucket_scene import BucketWorkshop
from kill_everywhere import main

if __name__ == "__main__":
    # The times of objects cannot be set, and a prune that removes versions goes by them.
    main(BucketWorkshop, without=["prune"], description=__doc__.splitlines()[0])
