-- The shared project as JSON: what `share publish` reads.
SELECT json_object(
    'id', id, 'title', title, 'detail', ifnull(detail, ''), 'closed', json(iif(closed, 'true', 'false')),
    'items', (
        SELECT json_group_array(json_object('id', id, 'title', title, 'detail', ifnull(detail, ''), 'completed', json(iif(completed, 'true', 'false'))))
        FROM (SELECT * FROM items WHERE projectId = projects.id ORDER BY position)))
FROM projects WHERE id = 'garden';
