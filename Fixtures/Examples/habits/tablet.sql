-- The same app on the tablet, used apart from the phone: another profile, a habit of its own, and one that both have.
INSERT INTO profiles VALUES('p-a902', NULL, NULL, 'light', NULL, '2025-09-01T07:00:00Z');
INSERT INTO categories VALUES
    ('health', 'Health and body', 1, '2025-09-03T07:00:00Z'),
    ('music', 'Music', 3, '2025-09-03T07:00:00Z');
INSERT INTO habits VALUES
    ('water', 'health', 'Water', 6, 1, '2025-08-20T07:00:00Z'),
    ('piano', 'music', 'Practise the piano', 30, 1, '2025-09-03T07:05:00Z');
INSERT INTO habit_logs VALUES
    ('l-9', 'piano', '2025-09-03', 25, '2025-09-03T20:00:00Z');
