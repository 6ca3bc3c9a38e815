-- What Carla has in the fridge, and how she likes to be reminded.
INSERT INTO foods VALUES
    ('yoghurt', 'Yoghurt', 4, 'cups', '2025-09-09', 0, '2025-09-01T18:00:00Z'),
    ('spinach', 'Spinach', 0.5, 'kg', '2025-09-04', 0, '2025-09-01T18:00:00Z'),
    ('mustard', 'Mustard', 1, NULL, NULL, 0, '2025-09-01T18:01:00Z');
INSERT INTO app_settings VALUES('settings', 3, '18:30', 'green', '2025-09-01T18:05:00Z');
