-- All notifications deleted and those of container.json inserted, by SQLite's own JSON functions.
BEGIN IMMEDIATE;
DELETE FROM notifications;
INSERT INTO notifications(id, title, subtitle, body, readAt, sentAt, createdAt, updatedAt, bucketId, attachments, actions, tapAction)
SELECT value ->> 'id', value ->> 'title', value ->> 'subtitle', value ->> 'body', value ->> 'readAt', value ->> 'sentAt', value ->> 'createdAt',
    value ->> 'updatedAt', value ->> 'bucketId', value -> 'attachments', value -> 'actions', value -> 'tapAction'
FROM json_each(CAST(readfile('container.json') AS TEXT), '$.notifications');
COMMIT;
