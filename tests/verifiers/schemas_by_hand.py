"""Tables as data sets of queries state them, and questions of them: right queries, and wrong ones near them.

Each case is a gold, rewritings that give the same rows on every database that keeps the keys, and queries with one of
the usual mistakes.
"""

from __future__ import annotations

from typing import NamedTuple

LIBRARY = """
PRAGMA foreign_keys = ON;
CREATE TABLE "author" (
  "author_id" int,
  "name" text NOT NULL,
  "country" text,
  "born" int,
  PRIMARY KEY ("author_id")
);
CREATE TABLE "book" (
  "book_id" INTEGER PRIMARY KEY AUTOINCREMENT,
  "title" varchar(40) NOT NULL,
  "author_id" int,
  "pages" int,
  "price" decimal(8,2),
  FOREIGN KEY ("author_id") REFERENCES "author"("author_id")
);
CREATE TABLE member (id int primary key, full_name varchar(30), city text, joined date);
CREATE TABLE loan (
  book_id int not null references book(book_id),
  member_id int not null references member,
  taken date,
  back datetime,
  primary key (book_id, member_id)
);
"""
SCHOOL = """
create table `teacher` (`id` integer not null primary key, `name` varchar(20) unique, `boss` integer,
  foreign key (`boss`) references `teacher` (`id`) on delete set null);
create table [course] ([code] char(5) primary key, [title] text, [teacher_id] integer not null references teacher(id),
  credits int check (credits between 1 and 12));
create table student (id integer primary key, name text, age int check (age >= 16), major text check (major in
  ('history', 'physics', 'music')), mentor int references teacher(id));
create table enrolment (student_id integer not null, course_code char(5) not null, grade real, year int not null,
  constraint pk primary key (student_id, course_code, year),
  constraint who foreign key (student_id) references student (id),
  constraint what foreign key (course_code) references course (code));
create table exam (no integer primary key, student_id integer, course_code char(5), year int, mark int,
  foreign key (student_id, course_code, year) references enrolment (student_id, course_code, year));
"""
SHOP = """
CREATE TABLE customers (CustomerID INTEGER NOT NULL, Segment TEXT NOT NULL, Currency TEXT NOT NULL,
  PRIMARY KEY (CustomerID));
CREATE TABLE products (ProductID INTEGER NOT NULL PRIMARY KEY, Description TEXT, `Unit Price` REAL);
CREATE TABLE orders (OrderID INTEGER PRIMARY KEY, OrderDate DATE NOT NULL, CustomerID INTEGER,
  foreign key (CustomerID) references customers (CustomerID));
CREATE TABLE lines (OrderID INTEGER, ProductID INTEGER, Amount INTEGER, PRIMARY KEY (OrderID, ProductID),
  FOREIGN KEY (OrderID) REFERENCES orders (OrderID), FOREIGN KEY (ProductID) REFERENCES products (ProductID));
INSERT INTO customers VALUES (1, 'retail', 'EUR'), (2, 'retail', 'CZK'), (3, 'trade', 'EUR');
INSERT INTO products VALUES (1, 'nails', 2.5), (2, 'oil', 9.75);
"""
SCHEMAS = {"library": LIBRARY, "school": SCHOOL, "shop": SHOP}


class Case(NamedTuple):
    """A question of a schema: the gold, right rewritings of it, and wrong queries."""

    schema: str
    gold: str
    right: tuple[str, ...]
    wrong: tuple[str, ...]


CASES = [
    Case(
        "library",
        "SELECT name FROM author WHERE country = 'France'",
        ("select T.name from author as T where 'France' = T.country",
         "SELECT a.name FROM author a WHERE a.country IN ('France')"),
        ("SELECT DISTINCT name FROM author WHERE country = 'France'", "SELECT name FROM author"),
    ),
    Case(
        "library",
        'SELECT name, born FROM author WHERE country = "France" ORDER BY born DESC',
        ("SELECT name, born FROM author WHERE country = 'France' ORDER BY born DESC, author_id",),
        (
            "SELECT name, born FROM author WHERE country = 'France' ORDER BY born",
            "SELECT born, name FROM author WHERE country = 'France' ORDER BY born DESC",
            "SELECT name, born FROM author WHERE country = 'France'",
        ),
    ),
    Case(
        "library",
        "SELECT T1.name, count(*) FROM author AS T1 JOIN book AS T2 ON T1.author_id = T2.author_id GROUP BY "
        "T1.author_id",
        (
            "SELECT T1.name, count(*) FROM author AS T1 JOIN book AS T2 ON T1.author_id = T2.author_id GROUP "
            "BY T2.author_id",
            "SELECT name, n FROM author NATURAL JOIN (SELECT author_id, count(*) AS n FROM book GROUP BY author_id)",
            "SELECT a.name, (SELECT count(*) FROM book b WHERE b.author_id = a.author_id) AS n FROM author a "
            "WHERE n > 0",
        ),
        (
            "SELECT T1.name, count(*) FROM author AS T1 JOIN book AS T2 ON T1.author_id = T2.author_id GROUP "
            "BY T1.name",
            "SELECT T1.name, count(*) FROM author AS T1 LEFT JOIN book AS T2 ON T1.author_id = T2.author_id "
            "GROUP BY T1.author_id",
            "SELECT T1.name, count(*) FROM author AS T1 JOIN book AS T2 GROUP BY T1.author_id",
        ),
    ),
    Case(
        "library",
        "SELECT T1.title, avg(T3.joined > '2015-06-01') FROM book AS T1 JOIN loan AS T2 ON T1.book_id = T2.book_id "
        "JOIN member AS T3 ON T2.member_id = T3.id GROUP BY T1.book_id",
        (
            "SELECT T1.title, avg(T3.joined > '2015-06-01') FROM loan T2, member T3, book T1 WHERE "
            "T1.book_id = T2.book_id "
            "AND T2.member_id = T3.id GROUP BY T2.book_id",
        ),
        (
            "SELECT T1.title, avg(T3.joined >= '2015-06-01') FROM book AS T1 JOIN loan AS T2 ON T1.book_id = "
            "T2.book_id "
            "JOIN member AS T3 ON T2.member_id = T3.id GROUP BY T1.book_id",
            "SELECT T1.title, avg(T3.joined > '2015-06-01') FROM book AS T1 JOIN loan AS T2 ON T1.book_id = "
            "T2.book_id "
            "JOIN member AS T3 GROUP BY T1.book_id",
        ),
    ),
    Case(
        "library",
        "SELECT title FROM book WHERE pages = (SELECT max(pages) FROM book)",
        ("SELECT title FROM book WHERE NOT pages < (SELECT max(b.pages) FROM book b)",),
        ("SELECT title FROM book WHERE pages = (SELECT min(pages) FROM book)",
         "SELECT title FROM book ORDER BY pages LIMIT 1"),
    ),
    Case(
        "library",
        "SELECT title FROM book ORDER BY price DESC LIMIT 1",
        ("SELECT title FROM book WHERE price IS (SELECT max(price) FROM book)",),
        ("SELECT title FROM book ORDER BY price ASC LIMIT 1", "SELECT title FROM book ORDER BY pages DESC LIMIT 1"),
    ),
    Case(
        "library",
        "SELECT name FROM author WHERE author_id NOT IN (SELECT author_id FROM book WHERE author_id IS NOT NULL)",
        (
            "SELECT T1.name FROM author T1 LEFT JOIN book T2 ON T1.author_id = T2.author_id WHERE T2.book_id IS NULL",
            "SELECT name FROM author a WHERE NOT EXISTS (SELECT 1 FROM book WHERE author_id = a.author_id)",
        ),
        (
            "SELECT name FROM author WHERE author_id NOT IN (SELECT author_id FROM book)",
            "SELECT name FROM author EXCEPT SELECT name FROM author JOIN book USING (author_id)",
        ),
    ),
    Case(
        "library",
        "SELECT count(DISTINCT author_id) FROM book WHERE price > 20",
        ("SELECT count(*) FROM (SELECT DISTINCT author_id FROM book WHERE price > 20 AND author_id IS NOT NULL)",),
        ("SELECT count(author_id) FROM book WHERE price > 20",
         "SELECT count(DISTINCT author_id) FROM book WHERE price >= 20"),
    ),
    Case(
        "library",
        "SELECT strftime('%Y', taken), count(*) FROM loan GROUP BY strftime('%Y', taken)",
        ("SELECT substr(taken, 1, 4), count(*) FROM loan GROUP BY 1",),
        ("SELECT strftime('%m', taken), count(*) FROM loan GROUP BY 1",
         "SELECT taken, count(*) FROM loan GROUP BY taken"),
    ),
    Case(
        "library",
        "SELECT T2.full_name FROM loan AS T1 JOIN member AS T2 ON T1.member_id = T2.id WHERE "
        "strftime('%Y-%m', T1.taken) = '2012-08'",
        ("SELECT full_name FROM member JOIN loan ON id = member_id WHERE taken LIKE '2012-08-%'",
         "SELECT full_name FROM member JOIN loan ON id = member_id WHERE taken BETWEEN '2012-08-01' AND "
         "'2012-08-31'"),
        ("SELECT full_name FROM member JOIN loan ON id = member_id WHERE taken LIKE '2012-%'",
         "SELECT DISTINCT full_name FROM member JOIN loan ON id = member_id WHERE taken LIKE '2012-08-%'"),
    ),
    Case(
        "library",
        "SELECT title FROM book WHERE title LIKE '%night%'",
        ("SELECT title FROM book WHERE instr(lower(title), 'night') > 0",),
        ("SELECT title FROM book WHERE title LIKE 'night%'", "SELECT title FROM book WHERE title = 'night'"),
    ),
    Case(
        "school",
        "SELECT T1.name FROM teacher AS T1 JOIN teacher AS T2 ON T1.boss = T2.id WHERE T2.name = 'Ann Lee'",
        ("SELECT name FROM teacher WHERE boss = (SELECT id FROM teacher WHERE name = 'Ann Lee')",),
        ("SELECT T2.name FROM teacher AS T1 JOIN teacher AS T2 ON T1.boss = T2.id WHERE T1.name = 'Ann Lee'",
         "SELECT name FROM teacher WHERE name = 'Ann Lee'"),
    ),
    Case(
        "school",
        "SELECT count(*) FROM enrolment WHERE year = 2020 AND grade > 2.5",
        ("SELECT sum(1) FROM enrolment WHERE 2020 = year AND NOT grade <= 2.5 HAVING count(*) > 0 UNION ALL "
         "SELECT 0 WHERE NOT EXISTS (SELECT 1 FROM enrolment WHERE year = 2020 AND grade > 2.5)",
         "SELECT count(student_id) FROM enrolment WHERE year = 2020 AND grade > 2.5"),
        ("SELECT count(*) FROM enrolment WHERE year = 2020 OR grade > 2.5",
         "SELECT count(*) FROM enrolment WHERE year = 2020"),
    ),
    Case(
        "school",
        "SELECT major, avg(age) FROM student GROUP BY major HAVING count(*) >= 2",
        ("SELECT major, sum(age) * 1.0 / count(age) FROM student GROUP BY major HAVING count(id) > 1",),
        ("SELECT major, avg(age) FROM student GROUP BY major",
         "SELECT major, avg(age) FROM student GROUP BY major HAVING count(*) > 2"),
    ),
    Case(
        "school",
        "SELECT T1.name FROM student AS T1 JOIN enrolment AS T2 ON T1.id = T2.student_id JOIN course AS T3 ON "
        "T2.course_code = T3.code WHERE T3.title = 'Optics' AND T1.major = 'physics'",
        ("SELECT s.name FROM course c, enrolment e, student s WHERE c.title = 'Optics' AND e.course_code = "
         "c.code AND "
         "s.id = e.student_id AND s.major = 'physics'",),
        ("SELECT DISTINCT T1.name FROM student AS T1 JOIN enrolment AS T2 ON T1.id = T2.student_id JOIN "
         "course AS T3 ON "
         "T2.course_code = T3.code WHERE T3.title = 'Optics' AND T1.major = 'physics'",
         "SELECT T1.name FROM student AS T1 JOIN enrolment AS T2 JOIN course AS T3 ON "
         "T2.course_code = T3.code WHERE T3.title = 'Optics' AND T1.major = 'physics'",
         "SELECT T1.name FROM student AS T1 JOIN enrolment AS T2 ON T1.id = T2.student_id WHERE T1.major = "
         "'physics'"),
    ),
    Case(
        "school",
        "SELECT name FROM student WHERE mentor IS NULL",
        ("SELECT s.name FROM student s LEFT JOIN teacher t ON s.mentor = t.id WHERE t.id IS NULL",),
        ("SELECT name FROM student WHERE mentor IS NOT NULL", "SELECT name FROM student WHERE mentor = 0"),
    ),
    Case(
        "school",
        "SELECT course_code FROM enrolment WHERE year = 2019 INTERSECT SELECT course_code FROM enrolment "
        "WHERE year = 2020",
        ("SELECT DISTINCT a.course_code FROM enrolment a JOIN enrolment b USING (course_code) WHERE a.year = "
         "2019 AND b.year = 2020",),
        ("SELECT course_code FROM enrolment WHERE year IN (2019, 2020)",
         "SELECT DISTINCT course_code FROM enrolment WHERE year = 2019 OR year = 2020"),
    ),
    Case(
        "school",
        "SELECT T2.name, max(T1.mark) FROM exam AS T1 JOIN student AS T2 ON T1.student_id = T2.id GROUP BY T2.id",
        ("SELECT name, (SELECT max(mark) FROM exam WHERE student_id = student.id) FROM student WHERE id IN "
         "(SELECT student_id FROM exam)",),
        ("SELECT T2.name, min(T1.mark) FROM exam AS T1 JOIN student AS T2 ON T1.student_id = T2.id GROUP BY T2.id",
         "SELECT T2.name, T1.mark FROM exam AS T1 JOIN student AS T2 ON T1.student_id = T2.id"),
    ),
    Case(
        "school",
        "SELECT T3.title, T1.mark FROM exam AS T1 JOIN enrolment AS T2 ON T1.student_id = T2.student_id AND "
        "T1.course_code = "
        "T2.course_code AND T1.year = T2.year JOIN course AS T3 ON T3.code = T2.course_code WHERE T2.grade >= 1.5",
        ("SELECT title, mark FROM exam NATURAL JOIN enrolment JOIN course ON code = course_code WHERE grade >= 1.5",),
        ("SELECT T3.title, T1.mark FROM exam AS T1 JOIN enrolment AS T2 ON T1.student_id = T2.student_id "
         "JOIN course AS T3 "
         "ON T3.code = T2.course_code WHERE T2.grade >= 1.5",
         "SELECT T3.title, T1.mark FROM exam AS T1 JOIN course AS T3 ON T3.code = T1.course_code"),
    ),
    Case(
        "school",
        "SELECT t.name, count(c.code) FROM teacher t LEFT JOIN course c ON c.teacher_id = t.id GROUP BY t.id",
        ("SELECT name, (SELECT count(*) FROM course WHERE teacher_id = teacher.id) FROM teacher",),
        ("SELECT t.name, count(c.code) FROM teacher t JOIN course c ON c.teacher_id = t.id GROUP BY t.id",
         "SELECT t.name, count(*) FROM teacher t LEFT JOIN course c ON c.teacher_id = t.id GROUP BY t.id"),
    ),
    Case(
        "shop",
        "SELECT CAST(sum(Currency = 'EUR') AS REAL) * 100 / count(*) FROM customers WHERE Segment = 'retail'",
        ("SELECT avg(Currency = 'EUR') * 100 FROM customers WHERE Segment = 'retail'",
         "SELECT avg(CASE WHEN Currency = 'EUR' THEN 100.0 ELSE 0 END) FROM customers WHERE Segment = 'retail'"),
        ("SELECT sum(Currency = 'EUR') * 100 / count(*) FROM customers WHERE Segment = 'retail'",
         "SELECT avg(Currency = 'EUR') * 100 FROM customers"),
    ),
    Case(
        "shop",
        "SELECT T1.CustomerID FROM customers AS T1 INNER JOIN orders AS T2 ON T1.CustomerID = T2.CustomerID "
        "WHERE T2.OrderDate > '2013-05-10' AND T1.Segment = 'trade'",
        ("SELECT CustomerID FROM orders WHERE date(OrderDate) >= date('2013-05-10', '+1 day') AND CustomerID IN "
         "(SELECT CustomerID FROM customers WHERE Segment = 'trade')",),
        ("SELECT T1.CustomerID FROM customers AS T1 INNER JOIN orders AS T2 ON T1.CustomerID = T2.CustomerID "
         "WHERE T2.OrderDate >= '2013-05-10' AND T1.Segment = 'trade'",
         "SELECT DISTINCT T1.CustomerID FROM customers AS T1 INNER JOIN orders AS T2 ON T1.CustomerID = "
         "T2.CustomerID "
         "WHERE T2.OrderDate > '2013-05-10' AND T1.Segment = 'trade'"),
    ),
    Case(
        "shop",
        "SELECT o.OrderID, sum(l.Amount * p.`Unit Price`) FROM orders o JOIN lines l ON l.OrderID = "
        "o.OrderID JOIN products p "
        "ON p.ProductID = l.ProductID GROUP BY o.OrderID",
        ('SELECT l.OrderID, sum("Unit Price" * l.Amount) FROM products p JOIN lines l ON l.ProductID = '
         'p.ProductID WHERE '
         "l.OrderID IS NOT NULL GROUP BY l.OrderID",),
        ("SELECT o.OrderID, sum(p.`Unit Price`) FROM orders o JOIN lines l ON l.OrderID = o.OrderID JOIN products p "
         "ON p.ProductID = l.ProductID GROUP BY o.OrderID",
         "SELECT o.OrderID, sum(l.Amount * p.`Unit Price`) FROM orders o JOIN lines l ON l.OrderID = "
         "o.OrderID JOIN products p "
         "GROUP BY o.OrderID"),
    ),
    Case(
        "shop",
        "SELECT c.Segment FROM customers c JOIN orders o ON o.CustomerID = c.CustomerID GROUP BY c.Segment "
        "ORDER BY count(*) DESC LIMIT 1",
        ("SELECT Segment FROM orders JOIN customers USING (CustomerID) GROUP BY Segment ORDER BY "
         "count(OrderID) DESC LIMIT 1",),
        ("SELECT c.Segment FROM customers c JOIN orders o ON o.CustomerID = c.CustomerID GROUP BY c.Segment "
         "ORDER BY count(*) LIMIT 1",
         "SELECT c.Segment FROM customers c GROUP BY c.Segment ORDER BY count(*) DESC LIMIT 1"),
    ),
]  # fmt: skip
