-- Three channels of an inbox, and what has arrived in them.
INSERT INTO buckets(id, name, description, color, createdAt, updatedAt) VALUES
    ('alarms', 'Alarms', 'What cannot wait', '#c62828', '2025-09-01T08:00:00Z', '2025-09-01T08:00:00Z'),
    ('builds', 'Builds', NULL, '#2e7d32', '2025-09-01T08:00:00Z', '2025-09-01T08:00:00Z'),
    ('home', 'Home', NULL, NULL, '2025-09-01T08:00:00Z', '2025-09-01T08:00:00Z');
INSERT INTO notifications(id, title, body, sentAt, createdAt, updatedAt, bucketId, attachments, actions, tapAction) VALUES
    ('n-1', 'Disk almost full', 'The disk of backup-2 is 91 % full.', '2025-09-01T09:00:00Z', '2025-09-01T09:00:01Z', '2025-09-01T09:00:01Z', 'alarms',
     '[]', '[]', NULL),
    ('n-2', 'Build 512 is green', NULL, '2025-09-01T09:10:00Z', '2025-09-01T09:10:02Z', '2025-09-01T09:10:02Z', 'builds',
     '[]', '[]', NULL),
    ('n-3', 'Somebody is at the door', 'Front door', '2025-09-01T09:20:00Z', '2025-09-01T09:20:01Z', '2025-09-01T09:20:01Z', 'home',
     '[{"mediaType":"IMAGE","url":"https://cam.example.net/door.jpg","name":"door.jpg"}]', '[]', NULL),
    ('n-4', 'Build 513 is green', NULL, '2025-09-01T09:30:00Z', '2025-09-01T09:30:01Z', '2025-09-01T09:30:01Z', 'builds',
     '[]', '[]', NULL);
