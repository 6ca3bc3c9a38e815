-- What is in the shop, as its pages have saved it; the users and sessions are the server's own.
INSERT INTO django_migrations(app, name, applied) VALUES('shop', '0001_initial', '2026-01-05 08:00:00.000000');
INSERT INTO auth_user(password, username, is_staff) VALUES('pbkdf2_sha256$870000$...', 'ida', 1);
INSERT INTO django_session VALUES('k3jx', 'e30', '2026-02-01 00:00:00');
INSERT INTO shop_category(name, parent_id) VALUES('Kitchen', NULL), ('Pans', 1), ('Knives', 1);
INSERT INTO shop_tag(slug) VALUES('new'), ('offer');
INSERT INTO shop_product(sku, title, price, is_active, attributes, created, updated, category_id) VALUES
    ('P-20', 'Pan, 20 cm', 24.5, 1, '{"cm": 20}', '2026-01-05 08:00:00.123456', '2026-01-05 08:00:00.123456', 2),
    ('P-28', 'Pan, 28 cm', 39, 1, '{"cm": 28}', '2026-01-05 08:01:00', '2026-01-07 10:00:00', 2),
    ('K-1', 'Paring knife', 12.9, 0, '{}', '2026-01-06 09:00:00', '2026-01-06 09:00:00', 3);
INSERT INTO shop_product_tags(product_id, tag_id) VALUES(1, 1), (2, 2);
