-- What Anna has in them.
INSERT INTO projects VALUES
    ('garden', 'Garden', 'Before the frost', 'Green', 0, '2026-09-01T08:00:00Z'),
    ('house', 'House', NULL, 'Dark Blue', 0, '2026-09-02T08:00:00Z');
INSERT INTO items VALUES
    ('garden-1', 'garden', 'Dig the beds', NULL, 3, 1, 1, '2026-09-01T08:00:00Z'),
    ('garden-2', 'garden', 'Sow beans', 'the white ones', 2, 0, 2, '2026-09-01T08:05:00Z'),
    ('garden-3', 'garden', 'Mend the fence', NULL, 1, 0, 3, '2026-09-01T08:10:00Z'),
    ('house-1', 'house', 'Paint the door', NULL, 2, 0, 1, '2026-09-02T08:00:00Z');
