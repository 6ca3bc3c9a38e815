-- The container of all notifications, made by SQLite's own JSON functions.
.mode list
.headers off
SELECT json_object(
    'syncTimestamp', strftime('%Y-%m-%dT%H:%M:%fZ', 'now'),
    'notifications', json_group_array(json_object(
        'id', id, 'title', title, 'subtitle', subtitle, 'body', body, 'readAt', readAt, 'sentAt', sentAt, 'createdAt', createdAt,
        'updatedAt', updatedAt, 'bucketId', bucketId, 'attachments', json(attachments), 'actions', json(actions), 'tapAction', json(tapAction))))
FROM notifications;
