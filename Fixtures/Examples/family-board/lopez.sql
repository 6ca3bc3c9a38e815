-- The Lopez family and their grandparents.
INSERT INTO Family VALUES
    ('lopez', 'Lopez', 'BLUE-42', '2025-09-01T08:00:00Z', '2025-09-01T08:00:00Z'),
    ('hill', 'Grandparents', 'HILL-7', '2025-09-01T08:00:00Z', '2025-09-01T08:00:00Z');
INSERT INTO UserProfile VALUES
    ('eva', 'Eva', NULL, '2025-09-01T08:01:00Z'),
    ('finn', 'Finn', NULL, '2025-09-01T08:01:00Z'),
    ('gus', 'Gus', NULL, '2025-09-01T08:01:00Z');
INSERT INTO Membership VALUES
    ('m-1', 'lopez', 'eva', 'parent', '2025-09-01T08:02:00Z'),
    ('m-2', 'lopez', 'finn', 'child', '2025-09-01T08:02:00Z'),
    ('m-3', 'hill', 'gus', 'parent', '2025-09-01T08:02:00Z');
